// `npm start`: starts the whole stack with one command, keeps it running, and stops it on Ctrl-C.
import { inspect, parseArgs } from 'node:util'
import { ConfigError, readConfig } from '../../src/config.ts'
import { describeFirstPayment } from './first-payment.ts'
import { print } from './stack-output.ts'
import { Stack } from './stack.ts'
import { StartError } from '../start-error.ts'

const HELP = `Usage: npm start [-- --help]

Starts Atomic Payments on this machine: PostgreSQL, migrations, a demo tenant, the mock payment
provider, the API and the worker. Prints "ready http://127.0.0.1:<port>" when a payment can succeed.
Ctrl-C stops everything; a second Ctrl-C, a second or more later, does not wait.

Settings are environment variables, or lines of a file .env:
  PORT                the API's port (3000); 0 picks a free one
  MOCK_PROVIDER_PORT  the mock provider's port (3100); 0 picks a free one
  DATA_DIR            where everything is kept (.data)
  DATABASE_URL        a PostgreSQL of your own, in place of the embedded one
  STRIPE_SECRET_KEY   Stripe, in place of the mock provider
  DEMO_API_KEY        the demo tenant's API key; made at the first start when unset
  ADMIN_API_KEY       the operators' keys for /admin; one is made at the first start when unset
.env.example lists all of them.
`

/** npm passes on the SIGINT that a Ctrl-C has sent to us already: two at once are one keystroke. */
const SAME_KEYSTROKE_MS = 1_000
const PARENT_POLL_MS = 250

process.exitCode = await main()
process.exit()

async function main(): Promise<number> {
  const options = readArguments()
  if (options.usageError !== undefined) {
    process.stderr.write(`npm start: ${options.usageError}\n\n${HELP}`)
    return 2
  }
  if (options.help) {
    print(HELP)
    return 0
  }
  try {
    await runUntilStopped()
    return 0
  } catch (error) {
    process.stderr.write(`npm start: ${describeFailure(error)}\n`)
    return 1
  }
}

function readArguments(): { help: boolean; usageError?: string } {
  try {
    const { values } = parseArgs({ options: { help: { type: 'boolean', default: false } } })
    return values
  } catch (error) {
    return { help: false, usageError: (error as Error).message }
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

/** Resolves at the first request to stop; a later one, if it is not an echo of it, hurries. */
async function listenForStopRequests(killParts: () => void): Promise<void> {
  return new Promise((resolve) => {
    let firstSignalAt: number | undefined
    const onSignal = () => {
      firstSignalAt ??= performance.now()
      resolve()
      if (performance.now() - firstSignalAt >= SAME_KEYSTROKE_MS) killParts()
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
    // Nobody reads any more what we print: the terminal or npm was killed.
    process.stdout.on('error', () => resolve())
    process.once('disconnect', resolve)
    if (process.env['npm_lifecycle_event'] !== undefined) watchParent(resolve)
  })
}

/** A signal to npm may end npm, or its shell, alone; nobody could then stop us by the usual means. */
function watchParent(onParentExit: () => void): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) onParentExit()
  }, PARENT_POLL_MS).unref()
}

function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (!(error instanceof StartError)) return inspect(error)
  return error.cause instanceof Error ? `${error.message}\n${error.cause.message}` : error.message
}
