// Guesses API keys at a steady rate, in a separate process so that it does not delay the requests
// whose answers are timed.
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { send } from '../requests.ts'

/** How many keys to guess per second; 0: none. */
export interface GuessesCommand {
  readonly perSecond: number
}

export interface GuessesReport {
  /** All answers so far, by status. */
  readonly answers: Readonly<Record<string, number>>
}

const TICK_MS = 10
const TICKS_PER_SECOND = 1_000 / TICK_MS

/** A service that answers no longer gets no more guesses. */
const OPEN_MAX = 500

const [target = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

let perSecond = 0
let due = 0
let open = 0
const answers: Record<string, number> = {}

setInterval(() => {
  due += perSecond / TICKS_PER_SECOND
  for (; due >= 1; due -= 1) if (open < OPEN_MAX) void guess()
}, TICK_MS)
process.on('message', (command: GuessesCommand) => {
  perSecond = command.perSecond
  due = 0
  process.send?.({ answers } satisfies GuessesReport)
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

async function guess(): Promise<void> {
  open += 1
  const headers = { authorization: `Bearer sk_test_${randomBytes(16).toString('hex')}` }
  const status = await send(`${target}/v1/payments`, { agent, headers }).then(
    (reply) => String(reply.status),
    () => 'none',
  )
  answers[status] = (answers[status] ?? 0) + 1
  open -= 1
}
