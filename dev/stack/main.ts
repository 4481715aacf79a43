// The process of `npm start`: starts the whole stack, keeps it running, and stops it on Ctrl-C.
import { inspect } from 'node:util'
import { ConfigError } from '../../src/config-formats.ts'
import { readConfig } from '../../src/config.ts'
import { describeFirstPayment } from './first-payment.ts'
import { print } from './stack-output.ts'
import { Stack } from './stack.ts'
import { StartError } from '../start-error.ts'

const HELP = `Usage: npm start [-- --help]

Starts Atomic Payments on this machine: PostgreSQL, a Stripe stand-in, the API, a
worker, and another one for webhooks alone.
Migrates the database and creates a demo tenant. Prints "ready http://127.0.0.1:<port>" when a
payment can succeed. Ctrl-C stops everything gracefully. A second Ctrl-C, at least one second
later, kills everything at once.

Settings are environment variables, or lines of a .env file:
  PORT                port of the API (default 3000; 0 picks a free port)
  MOCK_PROVIDER_PORT  port of the Stripe stand-in (default 3100; 0 picks a free port)
  DATA_DIR            folder for the database and the generated keys (default .data)
  DATABASE_URL        your PostgreSQL, instead of the embedded one
  STRIPE_SECRET_KEY   your Stripe key, to use Stripe instead of the stand-in
  DEMO_API_KEY        API key of the demo tenant (default: generated at the first start)
  ADMIN_API_KEY       operator keys for /admin (default: generated at the first start)
.env.example documents all settings.
`

/** A Ctrl-C reaches this process twice: directly, and forwarded by npm. */
const SAME_KEYSTROKE_MS = 1_000
const PARENT_POLL_MS = 250

process.exitCode = await main(process.argv.slice(2))
process.exit()

async function main([argument]: string[]): Promise<number> {
  if (argument === '--help') {
    print(HELP)
    return 0
  }
  if (argument !== undefined) {
    process.stderr.write(`npm start: unknown argument ${argument}\n\n${HELP}`)
    return 2
  }
  try {
    await runUntilStopped()
    return 0
  } catch (error) {
    process.stderr.write(`npm start: ${describeFailure(error)}\n`)
    return 1
  }
}

async function runUntilStopped(): Promise<void> {
  const stack = new Stack(readConfig())
  const stopRequested = listenForStopRequests(() => stack.kill())
  try {
    const running = await Promise.race([stack.start(), stopRequested])
    if (running === undefined) return
    print(`ready ${running.apiUrl}`)
    print(describeFirstPayment(running))
    await stopRequested
  } finally {
    await stack.stop()
  }
}

/** Resolves at the first request to stop. A later signal that is no echo of it kills the parts. */
async function listenForStopRequests(killParts: () => void): Promise<void> {
  return new Promise((resolve) => {
    let firstSignalAt: number | undefined
    const onSignal = () => {
      firstSignalAt ??= performance.now()
      resolve()
      if (performance.now() - firstSignalAt >= SAME_KEYSTROKE_MS) killParts()
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
    // The terminal or npm was killed: the other end of stdout is closed.
    process.stdout.on('error', () => resolve())
    process.once('disconnect', resolve)
    if (process.env['npm_lifecycle_event'] !== undefined) watchParent(resolve)
  })
}

/** A signal may end only npm or its shell. Ctrl-C would then no longer reach this process. */
function watchParent(onParentExit: () => void): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) onParentExit()
  }, PARENT_POLL_MS).unref()
}

function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (!(error instanceof StartError)) return inspect(error)
  const { message, cause } = error
  return cause instanceof Error ? `${message}\nCause: ${cause.message}` : message
}
