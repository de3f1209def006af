@echo off
rem Called with the arguments of the application: sets options, those of the JVM. The scripts that call this file set
rem   java     the program
rem   jar      the application
rem   natives  the folder of JCuda's libraries; empty if JCuda unpacks them itself
rem   app      the folder that takes the ahead-of-time cache (JEP 514): loaded classes and their profiles

rem A process without memory exits, since some of its threads may be gone. The unsafe memory access is that of
rem Protocol Buffers. A cache of another JVM or jar is ignored in silence.
set options=-XX:+UseCompactObjectHeaders -XX:+ExitOnOutOfMemoryError -Xlog:aot=off -Xlog:cds=off --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow
if defined natives set options=%options% "-Djava.library.path=%natives%"

rem When the first start of the service creates the cache: once the service is ready, which then runs this file with
rem ATHANOR_CACHE_ONLY set; or now, if the service is only checked.
set "cache=%app%\athanor.aot"
set prepare=
if not exist "%cache%" call :plan %*
if "%prepare%"=="now" call :create
if "%prepare%"=="later" set options=%options% "-Ddev.athanor.launch=%~f0"
set cached=-XX:AOTMode=off
if exist "%cache%" for %%f in ("%cache%") do if %%~zf gtr 0 set cached="-XX:AOTCache=%cache%"
set options=%cached% %options%
exit /b 0

:plan
if not "%~1"=="serve" exit /b 0
set prepare=later
set help=
:option
shift
if "%~1"=="--check" set prepare=now
for %%o in (-h --help -V --version) do if "%~1"=="%%o" set help=true
if not [%1]==[] goto option
if defined help set prepare=
rem Can the folder be written?
copy /y nul "%app%\new-0.aot" >nul 2>nul
if errorlevel 1 set prepare=
del "%app%\new-0.aot" >nul 2>nul
exit /b 0

rem Trains a service on the emulator, without the settings and the environment of this one, which keeps the processor if it
rem needs it.
:create
setlocal
if not defined ATHANOR_CACHE_ONLY echo Preparing faster starts; this happens once.>&2
rem Left by a creation that was killed. Where another one goes on, it fails, and the result of this one replaces its own.
del /q "%app%\new-*" >nul 2>nul
cd /d "%app%"
set "new=%app%\new-%RANDOM%.aot"
for /f "delims==" %%v in ('set') do call :clear "%%v"
start "" /b /low /wait "%java%" "-XX:AOTCacheOutput=%new%" %options% -jar "%jar%" serve --check --train --device emulator --port 0 --grpc-port 0 >nul 2>nul
rem What failed is not tried again.
if errorlevel 1 copy /y nul "%new%" >nul
if not exist "%new%" copy /y nul "%new%" >nul
move /y "%new%" "%cache%" >nul
del /q "%app%\new-*" >nul 2>nul
endlocal
exit /b 0

rem Windows itself needs the variables that stay.
:clear
for %%k in (java jar app cache new options ComSpec NUMBER_OF_PROCESSORS Path SystemDrive SystemRoot TEMP TMP USERPROFILE windir) do if /i "%~1"=="%%k" exit /b 0
set "%~1="
exit /b 0
