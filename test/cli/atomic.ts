// Runs a command line of `npm run atomic` for a test, without the environment of the developer.
import { Writable } from 'node:stream'
import { run } from '../../cli/run.ts'
import { OPERATORS } from '../support/admin.ts'
import { findFreePort } from '../../dev/ports.ts'

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
export const urlOfNothing = async (): Promise<string> => `http://127.0.0.1:${await findFreePort()}/`
