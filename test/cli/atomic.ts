// Runs a command line of `npm run atomic` for a test, without the environment of the developer.
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { run } from '../../cli/run.ts'
import { OPERATORS } from '../support/admin.ts'

export interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command until it ends. Without settings of its own it has the key of alice. */
export async function atomic(
  url: string,
  words: readonly string[],
  settings: Record<string, string> = { ATOMIC_ADMIN_KEY: OPERATORS.alice },
): Promise<Run> {
  const [stdout, stderr] = [collect(), collect()]
  const environment = { ATOMIC_URL: url, DATA_DIR: '/nowhere', ...settings }
  const code = await run({ words, environment, stdout: stdout.stream, stderr: stderr.stream })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

function collect() {
  const chunks: string[] = []
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      chunks.push(chunk)
      done()
    },
  })
  return { stream, text: () => chunks.join('') }
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
