@echo off
rem Runs Athanor from a checkout: builds it if necessary, then starts the Java process.
setlocal
call "%~dp0.mvn\find-jdk.cmd"
if errorlevel 1 exit /b 1
set "java=%JAVA_HOME%\bin\java.exe"
"%java%" -XX:TieredStopAtLevel=1 "%~dp0.mvn\Build.java" "%~dp0." mvnw.cmd
if errorlevel 1 exit /b 1
set "app=%~dp0cli\target\athanor"
set "jar=%app%\athanor.jar"
set natives=
call "%~dp0cli\src\bundle\bin\launch.cmd" %*
"%java%" %options% -jar "%jar%" %*
