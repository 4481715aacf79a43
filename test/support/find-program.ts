// Finds the programs that tests need and npm's packages do not contain.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The executables that will do. */
const PROGRAMS = {
  chromium: [
    'chromium',
    'chromium-browser',
    'google-chrome',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  nginx: ['nginx'],
  pgbouncer: ['pgbouncer'],
  'postgresql-15': ['/usr/lib/postgresql/15/bin/postgres'],
  promtool: ['promtool'],
  'redis-server': ['redis-server'],
  'systemd-analyze': ['systemd-analyze'],
}

export type Program = keyof typeof PROGRAMS

/** Debian's folder for servers is not in the path of each user. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/opt/homebrew/bin']

/** Returns the path of a program, or undefined when the machine does not have it. */
export function findProgram(program: Program): string | undefined {
  return PROGRAMS[program]
    .flatMap((name) =>
      name.startsWith('/') ? [name] : FOLDERS.map((folder) => join(folder, name)),
    )
    .find((path) => existsSync(path))
}

/** @throws Error when the machine does not have the program. */
export function requireProgram(program: Program): string {
  const path = findProgram(program)
  if (path === undefined) throw new Error(`${program} is not installed`)
  return path
}
