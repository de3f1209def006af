@echo off
rem Athanor from the bundle, on the Java runtime beside it. The JVM reads further options from JDK_JAVA_OPTIONS, such as -Xmx4g.
setlocal
for %%f in ("%~dp0..") do set "app=%%~ff"
set "java=%app%\runtime\bin\java.exe"
set "jar=%app%\lib\athanor.jar"
set "natives=%app%\native"
call "%~dp0launch.cmd" %*
"%java%" %options% -jar "%jar%" %*
