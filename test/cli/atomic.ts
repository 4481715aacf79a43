// Runs `npm run atomic` as a process for a test, without the environment of the developer.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { OPERATORS } from '../support/admin.ts'
import { compileCache, programOf } from '../support/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command until it ends. Without settings of its own it has the key of alice. */
export async function atomic(
  url: string,
  args: readonly string[],
  settings: Record<string, string> = { ATOMIC_ADMIN_KEY: OPERATORS.alice },
): Promise<Run> {
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: compileCache(),
    ATOMIC_URL: url,
    DATA_DIR: '/nowhere',
    ...settings,
  }
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [programOf('cli/main.ts'), ...args],
      { cwd: ROOT, env },
      (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1
        resolve({ code, stdout, stderr })
      },
    )
  })
}

/** What may reach no terminal: controls other than the ends of our own lines. */
// oxlint-disable-next-line no-control-regex
export const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

/** The URL of a port on which nothing listens. */
export async function urlOfNothing(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}/`
}
