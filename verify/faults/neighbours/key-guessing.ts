// A client that sends thousands of random API keys. A tenant pays beside it, from the same address
// and from another one.
import { once } from 'node:events'
import { fork } from 'node:child_process'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Merchant } from '../merchant.ts'
import type { Point } from '../points.ts'
import { payBeside } from './measure.ts'

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
  const { lane, violations } = merchant
  let guessing: Awaited<ReturnType<typeof startGuessing>> | undefined
  let [before, firstWindow] = [0, 0]
  await payBeside(merchant, {
    async begin() {
      ;[before, firstWindow] = [countLookups(lane.watch.points), windowNow()]
      guessing = await startGuessing(lane.process('api').port ?? 0)
    },
    async end() {
      if (OTHER_ADDRESS !== undefined) {
        // A key that the process does not know yet, from an address that has not guessed.
        const { apiKey } = await lane.createTenant()
        const answered = await read(lane.process('api').port ?? 0, apiKey, OTHER_ADDRESS)
        if (answered !== 200) {
          violations.push({ invariant: 7, what: `another address is answered ${answered}` })
        }
      }
      const guesses = (await guessing?.end()) ?? {}
      const limit = GUESSES_A_WINDOW * (1 + windowNow() - firstWindow) + MARGIN
      checkGuesses(merchant, guesses, before, limit)
    },
  }).finally(() => guessing?.kill())
}

function checkGuesses(
  { lane, violations, comparisons }: Merchant,
  guesses: Guesses,
  alone: number,
  limit: number,
): void {
  const all = Object.values(guesses).reduce((sum, count) => sum + count, 0)
  const beside = countLookups(lane.watch.points) - alone
  const what = `authentication, with ${all} guesses`
  comparisons.push({ what, unit: 'lookups', alone, beside, limit })
  if (beside > limit) {
    violations.push({ invariant: 7, what: `${all} guesses cost ${beside} lookups of keys` })
  }
  const others = Object.keys(guesses).filter((code) => code !== '401' && code !== '429')
  if (others.length > 0 || guesses['429'] === undefined) {
    violations.push({ invariant: 7, what: `guesses were answered ${JSON.stringify(guesses)}` })
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

/** Starts a process that guesses until it is told to end. Resolves when many keys are refused. */
async function startGuessing(port: number) {
  const child = fork(GUESSER, [String(port), String(GUESSES_FIRST)])
  const ended = once(child, 'exit').then(() => {
    throw new Error('the guesser ended by itself')
  })
  ended.catch(() => {})
  const heard = () => Promise.race([once(child, 'message').then(([message]) => message), ended])
  await heard()
  return {
    async end(): Promise<Guesses> {
      const told = heard()
      child.send('end')
      const guesses = (await told) as Guesses
      child.disconnect()
      await ended.catch(() => {})
      return guesses
    },
    kill: () => child.kill(),
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
