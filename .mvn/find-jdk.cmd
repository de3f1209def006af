@echo off
rem Called by mvnw.cmd and athanor.cmd: leaves JAVA_HOME at a JDK 25, or says what to install and exits with 1.
rem A JAVA_HOME that already names a JDK 25 wins; any other value is replaced.

set jdk=
call :check "%JAVA_HOME%"
call :check "%JAVA_HOME_25_X64%"
for %%j in (javac.exe) do call :check "%%~dp$PATH:j.."
for %%p in (
  "%ProgramFiles%\Eclipse Adoptium"
  "%ProgramFiles%\Java"
  "%ProgramFiles%\Microsoft"
  "%ProgramFiles%\Zulu"
  "%ProgramFiles%\Amazon Corretto"
  "%USERPROFILE%\.jdks"
) do call :search "%%~p"
if defined jdk set "JAVA_HOME=%jdk%"
if defined jdk exit /b 0
echo No JDK 25 was found: install one (winget install EclipseAdoptium.Temurin.25.JDK) or point JAVA_HOME at it.>&2
exit /b 1

:search
if not exist "%~1" exit /b 0
for /f "delims=" %%j in ('dir /b /ad "%~1"') do call :check "%~1\%%j"
exit /b 0

rem :check FOLDER: sets jdk to the folder if it holds a JDK 25 and none was found before.
:check
if defined jdk exit /b 0
if not exist "%~1\bin\javac.exe" exit /b 0
set release=
for /f "usebackq tokens=1,2 delims==" %%k in ("%~1\release") do if "%%k"=="JAVA_VERSION" set release=%%l
if not defined release exit /b 0
set "release=%release:"=%."
if "%release:~0,3%"=="25." set "jdk=%~f1"
exit /b 0
