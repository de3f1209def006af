@echo off
rem Runs the Maven release that this build is made for, on a JDK 25. As in mvnw, that Maven is itself fetched as an artifact
rem through the installed mvn, so it comes from wherever the user's settings say that artifacts come from.
setlocal
call "%~dp0.mvn\find-jdk.cmd"
if errorlevel 1 exit /b 1
set version=3.10.0
set sha256=1f6d9909266510f039f59aa0e13dcd2c66da85f043e56276e41f2918f8bddaff
set fetcher=org.apache.maven.plugins:maven-dependency-plugin:3.9.0
set "dists=%USERPROFILE%\.m2\wrapper\dists\apache-maven-%version%"
set "maven=%dists%\%sha256%"
if not exist "%maven%\bin\mvn.cmd" call :fetch
if not exist "%maven%\bin\mvn.cmd" exit /b 1
call "%maven%\bin\mvn.cmd" %*
exit /b %ERRORLEVEL%

:fetch
set mvn=
for %%m in (mvn.cmd) do set "mvn=%%~$PATH:m"
if not defined mvn echo No mvn was found: install Maven of any version, through which Maven %version% is fetched.>&2
if not defined mvn exit /b 1
echo fetching Maven %version%>&2
set "fetched=%dists%\fetched-%RANDOM%"
mkdir "%fetched%"
rem A pom of its own keeps the older mvn from reading ours.
>"%fetched%\pom.xml" echo ^<project^>^<modelVersion^>4.0.0^</modelVersion^>^<groupId^>dev.athanor^</groupId^>^<artifactId^>maven-fetch^</artifactId^>^<version^>1^</version^>^<packaging^>pom^</packaging^>^</project^>
call "%mvn%" -B -q -f "%fetched%\pom.xml" %fetcher%:copy -Dartifact=org.apache.maven:apache-maven:%version%:zip:bin "-DoutputDirectory=%fetched%"
if not errorlevel 1 "%JAVA_HOME%\bin\java.exe" "%~dp0.mvn\Unpack.java" "%fetched%\apache-maven-%version%-bin.zip" %sha256% "%maven%"
rmdir /s /q "%fetched%"
exit /b 0
