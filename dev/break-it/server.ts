// The page that breaks the stack of `npm start`: it kills a process, injects faults into the stand-in, and
// makes payments, with the counts of charges and payments beside it. It listens on this machine alone,
// and needs a secret that each start makes.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import express, { type ErrorRequestHandler, type Express, type Request } from 'express'
import { z } from 'zod'
import { openStore, type Sql } from '../../src/db/connection/client.ts'
import { asService } from '../../src/db/connection/transaction.ts'
import {
  readConsoleFolder,
  readConsolePackages,
  type ConsoleFiles,
} from '../../src/http/console/files.ts'
import { demoPayment, startTraffic, type Traffic } from './traffic.ts'

export interface BreakItOptions {
  readonly apiUrl: string
  readonly standInUrl: string
  readonly databaseUrl: string
  /** The API key of the demo tenant. */
  readonly apiKey: string
  /** The key of an operator. */
  readonly adminKey: string
  /** Ends the process with the name at once, if there is one. It is restarted. */
  readonly crash: (process: string) => void
}

export type BreakItServer = Awaited<ReturnType<typeof startBreakItServer>>

/** The charges that the stand-in executed, beside the payments that the service knows. */
export interface Counts {
  /** Counted after the payments, and so may be ahead while payments are made. */
  readonly provider_executed: number
  /** The payments that the service recorded as charged. */
  readonly payments: number
  /** Payments whose outcome is not known yet. When it is 0, the two counts are equal. */
  readonly in_progress: number
  readonly charged_twice: number
  /** The payments that the traffic will still make. */
  readonly traffic_left: number
}

const LOOPBACK = '127.0.0.1'

/** So that the page has its answer before the process ends. */
const CRASH_DELAY_MS = 100

const LIMIT_MS = 4_500

/** Shorter than LIMIT_MS. */
const WAIT = 'wait=3'

/** Always the same, so that a repetition with the same idempotency key is the same request. */
const AMOUNT = 1_999

/** What tells a repetition from the first request, and a promise from a result. */
const SHOWN_HEADERS = ['idempotent-replayed', 'location', 'preference-applied', 'retry-after']

const PAGE_FOLDER = fileURLToPath(new URL('page/', import.meta.url))

const killBody = z.strictObject({ process: z.enum(['worker', 'api', 'webhooks']) })
const trafficBody = z.strictObject({
  payments_per_second: z.int().min(1).max(50),
  seconds: z.int().min(1).max(300),
})
const payBody = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  payment_method: z
    .string()
    .regex(/^pm_[A-Za-z0-9_]{1,60}$/)
    .default('pm_card_visa'),
  respond_async: z.boolean().default(false),
})

/** Works as `fetch`, and ends in time. */
const fetchInTime = (url: string, request: RequestInit = {}): Promise<Response> =>
  fetch(url, { ...request, signal: AbortSignal.timeout(LIMIT_MS) })

/** Starts the server on a free port. */
export async function startBreakItServer(options: BreakItOptions) {
  const secret = randomBytes(24).toString('hex')
  const store = openStore({
    url: options.databaseUrl,
    applicationName: 'break-it',
    poolSize: 1,
    timeoutMs: LIMIT_MS,
  })
  let traffic: Traffic | undefined
  const app = express().disable('x-powered-by')
  await servePage(app, options, secret)
  app.use('/break', express.json())
  app.use('/break', (request, response, next) => {
    if (isAllowed(request, secret)) next()
    else response.status(401).json({ title: 'Open this page by the URL that npm start prints' })
  })
  serveFaults(app, options)
  app.get('/break/counts', async (_request, response) => {
    // In this order, so that the service never seems to know of a charge that was not executed.
    const payments = await countPayments(store.sql)
    const executed = await countExecuted(options)
    response.json({ ...payments, ...executed, traffic_left: traffic?.left() ?? 0 } satisfies Counts)
  })
  app.get('/break/operations', async (request, response) => {
    const headers = { authorization: `Bearer ${options.adminKey}` }
    const { search } = new URL(request.url, options.apiUrl)
    const answer = await fetchInTime(`${options.apiUrl}/admin/operations${search}`, { headers })
    response.status(answer.status).json(await answer.json())
  })
  app.post('/break/kill', (request, response) => {
    const { process } = killBody.parse(request.body)
    setTimeout(() => options.crash(process), CRASH_DELAY_MS)
    response.status(202).json({ process })
  })
  app.post('/break/pay', async (request, response) => {
    response.json(await payOnce(options, payBody.parse(request.body)))
  })
  app.post('/break/traffic', (request, response) => {
    const { payments_per_second: paymentsPerSecond, seconds } = trafficBody.parse(request.body)
    traffic?.stop()
    traffic = startTraffic({ ...options, paymentsPerSecond, seconds })
    response.status(202).json({})
  })
  app.delete('/break/traffic', (_request, response) => {
    traffic?.stop()
    response.json({})
  })
  app.use(answerError)
  const server = app.listen(0, LOOPBACK)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    /** With the secret, which the page keeps in a cookie. */
    url: `http://${LOOPBACK}:${port}/?secret=${secret}`,
    async stop() {
      traffic?.stop()
      server.close()
      server.closeAllConnections()
      await store.close()
    },
  }
}

/** The page, with the scripts and styles of the console. */
async function servePage(app: Express, { apiUrl }: BreakItOptions, secret: string): Promise<void> {
  app.get('/', (request, response) => {
    const { searchParams } = new URL(request.url, apiUrl)
    if (!isEqual(searchParams.get('secret') ?? '', secret)) {
      response.type('html').send(pageFor(apiUrl))
      return
    }
    response.cookie(cookieOf(request), secret, { httpOnly: true, sameSite: 'strict' })
    response.redirect(303, '/')
  })
  const serve = (path: string, files: ConsoleFiles) =>
    app.get(`${path}/:file`, (request, response, next) => {
      const file = files.get(request.params.file)
      if (file === undefined) next()
      else response.type(file.type).set('cache-control', 'no-cache').send(file.bodies.identity)
    })
  for (const [path, files] of Object.entries(await readFilesOnce())) serve(path, files)
}

let files: Promise<Record<string, ConsoleFiles>> | undefined

/** The console compresses each file, which takes longer than all else here. */
const readFilesOnce = () => (files ??= readFiles())

const readFiles = async () => ({
  '/console/packages': await readConsolePackages(),
  '/console': await readConsoleFolder(),
  '/dev/break-it/page': await readConsoleFolder(PAGE_FOLDER),
})

const pageFor = (apiUrl: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Break it - Atomic Payments</title>
<link rel="icon" href="/console/icon.svg">
<link rel="stylesheet" href="/console/style.css">
<link rel="stylesheet" href="/dev/break-it/page/style.css">
<script type="module" src="/dev/break-it/page/main.js"></script>
<body>
<div id="break-it" data-console="${apiUrl}/console"></div>
</html>
`

/** Cookies do not know ports, and two stacks can run on a machine. */
const cookieOf = (request: Request) => `break-it-${request.socket.localPort}`

/** The header makes a browser ask first before a page of another port sends a change. */
function isAllowed(request: Request, secret: string): boolean {
  const cookies = new Map(
    (request.headers.cookie ?? '').split('; ').map((pair) => pair.split('=') as [string, string]),
  )
  const mayChange = request.method === 'GET' || request.headers['x-csrf-token'] !== undefined
  return mayChange && isEqual(cookies.get(cookieOf(request)) ?? '', secret)
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}

const answerError: ErrorRequestHandler = (error, _request, response, _next) => {
  if (error instanceof z.ZodError) {
    response.status(400).json({ title: 'Invalid request', detail: z.prettifyError(error) })
    return
  }
  const { status = 502 } = error as { status?: number }
  const title =
    status === 502 ? 'The stand-in, the API or the database did not answer' : 'Invalid request'
  response.status(status).json({ title })
}

/** What the stand-in says is the answer: it knows its faults, and where they can strike. */
function serveFaults(app: Express, { standInUrl }: BreakItOptions): void {
  const faults = `${standInUrl}/_control/faults`
  app.post('/break/faults', async (request, response) => {
    const answer = await fetchInTime(faults, {
      method: 'POST',
      body: JSON.stringify(request.body),
    })
    const body = (await answer.json()) as { error?: { message: string } }
    response.status(answer.status).json(answer.ok ? body : { detail: body.error?.message })
  })
  app.delete('/break/faults', async (_request, response) => {
    const answer = await fetchInTime(faults, { method: 'DELETE' })
    response.status(answer.status).json(await answer.json())
  })
  app.get('/break/faults', async (_request, response) => {
    const { data } = (await (await fetchInTime(faults)).json()) as { data: Fault[] }
    response.json({ data: data.map(showFault).filter(({ left }) => left > 0) })
  })
}

/** The answer of the service to a payment, a refusal too, with its body as it was sent. */
async function payOnce(
  { apiUrl, apiKey }: BreakItOptions,
  { key, payment_method, respond_async: respondAsync }: z.infer<typeof payBody>,
) {
  const request = demoPayment(apiKey, key, { amount: AMOUNT, payment_method })
  const headers = { ...request.headers, prefer: respondAsync ? 'respond-async' : WAIT }
  const response = await fetchInTime(`${apiUrl}/v1/payments`, { ...request, headers })
  const shown = SHOWN_HEADERS.map((name) => [name, response.headers.get(name)])
  const shownHeaders = Object.fromEntries(shown.filter(([, value]) => value !== null)) as object
  return { status: response.status, headers: shownHeaders, body: await response.text() }
}

interface Fault {
  readonly fault: string
  readonly match: { readonly nth?: number }
  readonly times: number
  readonly delay_ms: number
  readonly matched: number
  readonly struck: number
}

/** With the number of calls that it will still strike. */
function showFault({ fault, match, times, delay_ms, matched, struck }: Fault) {
  const left = match.nth === undefined ? times - struck : match.nth - 1 + times - matched
  return { fault, match, delay_ms, left: Math.min(times, left) }
}

interface Executed {
  readonly kind: string
  readonly metadata: Readonly<Record<string, string>>
}

/** The charges that the stand-in executed: captures move money. */
async function countExecuted({ standInUrl }: BreakItOptions) {
  const response = await fetchInTime(`${standInUrl}/_control/executed`)
  const { data } = (await response.json()) as { data: Executed[] }
  const captures = data.filter(({ kind }) => kind === 'payment_intent.capture')
  const charges = Map.groupBy(captures, ({ metadata }) => metadata['atomic_payment'])
  const chargedTwice = [...charges.values()].filter(({ length }) => length > 1).length
  return { provider_executed: captures.length, charged_twice: chargedTwice }
}

/** Counts the payments of all tenants, and so has no place beside a real provider. */
async function countPayments(sql: Sql): Promise<Pick<Counts, 'payments' | 'in_progress'>> {
  const [counts] = await asService(sql)<Pick<Counts, 'payments' | 'in_progress'>[]>`
    select
      count(case when amount_captured_minor > 0 then 1 end)::integer as payments,
      count(case when amount_captured_minor = 0 and status in ('processing', 'unknown') then 1 end)
        ::integer as in_progress
    from payments
  `
  return counts ?? { payments: 0, in_progress: 0 }
}
