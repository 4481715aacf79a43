// A client that sends thousands of random API keys. A tenant pays beside it, from the same address
// and from another one.
import { once } from 'node:events'
import { fork } from 'node:child_process'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { startReceiver } from '../../../test/support/receiver.ts'
import type { Merchant } from '../merchant.ts'
import type { Point } from '../points.ts'
import { compare, NEIGHBOUR, payInTurn, slowDownProvider, subscribe } from './measure.ts'

const GUESSER = fileURLToPath(new URL('guesser.ts', import.meta.url))
/** How many keys are tried before the neighbour pays. */
const GUESSES_FIRST = 500
/** How many wrong keys an address may try, and in which time. */
export const GUESSES_A_WINDOW = 60
export const WINDOW_SECONDS = 10
/** Tries that had begun when the limit was reached, and the other keys of the lane. */
const MARGIN = 20
/** Linux has all addresses of that network. Elsewhere nothing is read from another one. */
const OTHER_ADDRESS = process.platform === 'linux' ? '127.0.0.2' : undefined

/** The number of answers to guesses, by their status. */
type Guesses = Readonly<Record<string, number>>

export async function guessKeys(merchant: Merchant): Promise<void> {
  const { lane, violations, comparisons } = merchant
  const receiver = await startReceiver()
  try {
    await subscribe(merchant, receiver, NEIGHBOUR)
    await slowDownProvider(merchant)
    const alone = await payInTurn({ merchant, receiver })
    const before = countLookups(lane.watch.points)
    const firstWindow = windowNow()
    const guessing = await Guessing.begin(lane.process('api').port ?? 0)
    try {
      const beside = await payInTurn({ merchant, receiver })
      compare(merchant, alone.times, beside.times)
      await beside.ended
      if (OTHER_ADDRESS !== undefined) {
        // A key that the process does not know yet, from an address that has not guessed.
        const { apiKey } = await lane.createTenant()
        const answered = await read(lane.process('api').port ?? 0, apiKey, OTHER_ADDRESS)
        if (answered !== 200) {
          violations.push({ invariant: 7, what: `another address is answered ${answered}` })
        }
      }
    } finally {
      await guessing.end()
    }
    const { guesses } = guessing
    const all = Object.values(guesses).reduce((sum, count) => sum + count, 0)
    const lookups = countLookups(lane.watch.points) - before
    const limit = GUESSES_A_WINDOW * (1 + windowNow() - firstWindow) + MARGIN
    const what = `authentication, with ${all} guesses`
    comparisons.push({ what, unit: 'look-ups', alone: before, beside: lookups, limit })
    if (lookups > limit) {
      violations.push({ invariant: 7, what: `${all} guesses cost ${lookups} look-ups of keys` })
    }
    const others = Object.keys(guesses).filter((code) => code !== '401' && code !== '429')
    if (others.length > 0 || guesses['429'] === undefined) {
      violations.push({ invariant: 7, what: `guesses were answered ${JSON.stringify(guesses)}` })
    }
  } finally {
    await lane.provider.removeFaults()
    await receiver.stop()
  }
}

function windowNow(): number {
  return Math.floor(Date.now() / (WINDOW_SECONDS * 1_000))
}

/** The statements by which the API asks for a key. */
function countLookups(points: readonly Point[]): number {
  return points.filter(
    ({ name, message, moment }) =>
      name === 'authenticate' && message === 'Execute' && moment === 'before',
  ).length
}

/** A process that guesses until it is told to end. */
class Guessing {
  readonly #child: ReturnType<typeof fork>
  guesses: Guesses = {}

  private constructor(port: number) {
    this.#child = fork(GUESSER, [String(port), String(GUESSES_FIRST)])
  }

  /** Resolves when many keys are refused already. */
  static async begin(port: number): Promise<Guessing> {
    const guessing = new Guessing(port)
    await guessing.#heard()
    return guessing
  }

  /** The next message of the process. */
  async #heard(): Promise<unknown> {
    const over = new AbortController()
    const { signal } = over
    const ended = once(this.#child, 'exit', { signal }).then(() => {
      throw new Error('the guesser ended by itself')
    })
    try {
      const [message] = await Promise.race([once(this.#child, 'message', { signal }), ended])
      return message
    } finally {
      over.abort()
      ended.catch(() => {})
    }
  }

  async end(): Promise<void> {
    const told = this.#heard()
    this.#child.send('end')
    this.guesses = (await told) as Guesses
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }
}

/** The status of a read from another address than that of the guesser. */
async function read(
  port: number,
  apiKey: string,
  localAddress: string,
): Promise<number | undefined> {
  const sent = request({
    port,
    host: '127.0.0.1',
    localAddress,
    path: '/v1/payments',
    headers: { authorization: `Bearer ${apiKey}` },
  }).end()
  const [answer] = (await once(sent, 'response')) as [{ statusCode?: number; resume: () => void }]
  answer.resume()
  return answer.statusCode
}
