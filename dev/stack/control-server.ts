// Lets the API's console break the stack of `npm start`: kill a process, inject faults into the stand-in,
// and make payments. It listens on this machine alone, and needs a secret that each start makes.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { demoPayment } from './demo-payment.ts'
import { LOOPBACK } from './process-settings.ts'
import { startTraffic, type Traffic } from './traffic.ts'

export interface ControlOptions {
  readonly apiUrl: string
  readonly standInUrl: string
  /** The API key of the demo tenant. */
  readonly apiKey: string
  /** Ends the process with the name at once, if there is one. It is restarted. */
  readonly crash: (process: string) => void
}

export interface ControlServer {
  /** With the secret: the value of CONSOLE_LAUNCHER_URL. */
  readonly url: string
  stop(): void
}

/** So that the API can answer before it ends. */
const CRASH_DELAY_MS = 100

interface Answer {
  readonly status: number
  readonly body: unknown
}

type Route = (options: ControlOptions, body: Record<string, unknown>) => Promise<Answer> | Answer

/** Starts the server on a free port. */
export async function startControlServer(options: ControlOptions): Promise<ControlServer> {
  const secret = randomBytes(24).toString('hex')
  let traffic: Traffic | undefined
  const routes: Readonly<Record<string, Route>> = {
    'POST /kill': crashSoon,
    'POST /faults': ({ standInUrl }, body) => askStandIn(standInUrl, 'POST', body),
    'DELETE /faults': ({ standInUrl }) => askStandIn(standInUrl, 'DELETE'),
    'GET /faults': listWaitingFaults,
    'GET /executed': async (own) => ({
      status: 200,
      body: { ...(await countExecuted(own)), traffic_left: traffic?.left() ?? 0 },
    }),
    'POST /pay': payOnce,
    'POST /traffic'({ apiUrl, apiKey }, { payments_per_second: rate, seconds }) {
      traffic?.stop()
      const paymentsPerSecond = Number(rate)
      traffic = startTraffic({ apiUrl, apiKey, paymentsPerSecond, seconds: Number(seconds) })
      return { status: 202, body: {} }
    },
    'DELETE /traffic'() {
      traffic?.stop()
      return { status: 200, body: {} }
    },
  }
  const server = createServer((request, response) => {
    serve(routes, options, secret, request)
      .catch(() => ({ status: 502, body: { message: 'the stand-in or the API did not answer' } }))
      .then((answer) => send(response, answer))
      .catch(() => response.destroy())
  }).listen(0, LOOPBACK)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://launcher:${secret}@${LOOPBACK}:${port}`,
    stop() {
      traffic?.stop()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function serve(
  routes: Readonly<Record<string, Route>>,
  options: ControlOptions,
  secret: string,
  request: IncomingMessage,
): Promise<Answer> {
  const name = `${request.method} ${request.url}`
  const sent = await text(request)
  if (!isEqual(request.headers.authorization ?? '', `Bearer ${secret}`)) {
    return { status: 401, body: { message: 'the secret is wrong' } }
  }
  const route = Object.hasOwn(routes, name) ? routes[name] : undefined
  if (route === undefined) return { status: 404, body: { message: 'there is no such route' } }
  return await route(options, sent === '' ? {} : (JSON.parse(sent) as Record<string, unknown>))
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const crashSoon: Route = ({ crash }, { process }) => {
  setTimeout(() => crash(String(process)), CRASH_DELAY_MS)
  return { status: 202, body: { process } }
}

async function askStandIn(
  standInUrl: string,
  method: 'POST' | 'DELETE',
  body?: Record<string, unknown>,
): Promise<Answer> {
  const response = await fetch(`${standInUrl}/_control/faults`, {
    method,
    body: body === undefined ? null : JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

/** Always the same, so that a repetition with the same idempotency key is the same request. */
const AMOUNT = 1_999

/** Shorter than the API waits for this server. */
const WAIT = 'wait=3'

/** What tells a repetition from the first request, and a promise from a result. */
const SHOWN_HEADERS = ['idempotent-replayed', 'location', 'preference-applied', 'retry-after']

/** Makes one payment. Returns the answer of the service, a refusal too. */
const payOnce: Route = async ({ apiUrl, apiKey }, { key, payment_method, respond_async }) => {
  const request = demoPayment({
    apiKey,
    idempotencyKey: String(key),
    amount: AMOUNT,
    paymentMethod: String(payment_method),
    prefer: respond_async === true ? 'respond-async' : WAIT,
  })
  const response = await fetch(`${apiUrl}/v1/payments`, request)
  const shown = SHOWN_HEADERS.map((name) => [name, response.headers.get(name)])
  const headers = Object.fromEntries(shown.filter(([, value]) => value !== null))
  return { status: 200, body: { status: response.status, headers, body: await response.text() } }
}

interface Executed {
  readonly kind: string
  readonly metadata: Readonly<Record<string, string>>
}

interface Fault {
  readonly fault: string
  readonly match: { readonly nth?: number }
  readonly times: number
  readonly delay_ms: number
  readonly matched: number
  readonly struck: number
}

/** Lists the faults that have not struck as often as they should. */
async function listWaitingFaults({ standInUrl }: ControlOptions): Promise<Answer> {
  const response = await fetch(`${standInUrl}/_control/faults`)
  const { data } = (await response.json()) as { data: Fault[] }
  const shown = data.map(({ fault, match, times, delay_ms, matched, struck }) => {
    const left = match.nth === undefined ? times - struck : match.nth - 1 + times - matched
    return { fault, match, delay_ms, left: Math.min(times, left) }
  })
  return { status: 200, body: { data: shown.filter(({ left }) => left > 0) } }
}

/** Counts captures: those move money. */
async function countExecuted({ standInUrl }: ControlOptions): Promise<Record<string, number>> {
  const response = await fetch(`${standInUrl}/_control/executed`)
  const { data } = (await response.json()) as { data: Executed[] }
  const captures = data.filter(({ kind }) => kind === 'payment_intent.capture')
  const charges = Map.groupBy(captures, ({ metadata }) => metadata['atomic_payment'])
  const chargedTwice = [...charges.values()].filter(({ length }) => length > 1).length
  return { executed: captures.length, charged_twice: chargedTwice }
}
