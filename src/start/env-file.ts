// Reads `.env` before the program of an npm script, if there is one. What is set stays as it is. Node's
// own flag --env-file-if-exists prints a line each time that there is none.
import { existsSync } from 'node:fs'
import { loadEnvFile } from 'node:process'

if (existsSync('.env')) loadEnvFile('.env')
