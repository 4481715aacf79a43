// Where the stack is that is sent to, and in whose name: as the command line says, or the environment, or
// where `npm start` puts it. What is missing is said together with where it can be had.
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { createClient } from '../../client/index.ts'
import type { Config } from '../../src/config.ts'
import { readUrl, UsageError, type SimulationOptions } from './arguments.ts'
import { providerAt } from './provider.ts'

export interface Target {
  readonly url: string
  readonly apiKey: string
  readonly providerUrl: string
}

type TargetOptions = Pick<SimulationOptions, 'url' | 'apiKey' | 'providerUrl'>
type Settings = Pick<
  Config,
  'HOST' | 'PORT' | 'MOCK_PROVIDER_PORT' | 'DATA_DIR' | 'DEMO_API_KEY' | 'STRIPE_API_BASE'
>

const LOOPBACK = '127.0.0.1'

/** There is no stack, or it cannot be simulated on. */
export class TargetError extends Error {
  override name = 'TargetError'
}

/** @throws UsageError when there is no key to be had. */
export async function findTarget(
  options: TargetOptions,
  environment: NodeJS.ProcessEnv,
  settings: Settings,
): Promise<Target> {
  const { API_URL, API_KEY, PROVIDER_URL } = environment
  const { HOST, PORT, MOCK_PROVIDER_PORT, STRIPE_API_BASE } = settings
  const url = options.url ?? readUrl('API_URL', API_URL)
  const providerUrl = options.providerUrl ?? readUrl('PROVIDER_URL', PROVIDER_URL)
  return {
    url: url ?? `http://${reachableHost(HOST)}:${PORT}`,
    apiKey: options.apiKey ?? API_KEY ?? (await readDemoKey(settings)),
    providerUrl: providerUrl ?? STRIPE_API_BASE ?? `http://${LOOPBACK}:${MOCK_PROVIDER_PORT}`,
  }
}

/** As `npm start` has it: see dev/stack/demo-api-key.ts. */
async function readDemoKey({ DEMO_API_KEY, DATA_DIR }: Settings): Promise<string> {
  if (DEMO_API_KEY !== undefined) return DEMO_API_KEY
  const file = join(DATA_DIR, 'demo-api-key')
  try {
    return await readFile(file, 'utf8')
  } catch {
    throw new UsageError(
      `no API key: there is no ${file}, where npm start keeps that of the demo tenant. Start it ` +
        'in this folder first, or pass the key that it has printed below "ready" as --api-key ' +
        'or API_KEY. With --stack a stack is started for this run alone.',
    )
  }
}

/** The address to call a server at that listens on `host`, which may stand for every interface. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return LOOPBACK
  return isIPv6(host) ? `[${host}]` : host
}

/**
 * Whether payments can be sent, and whether their provider is the one whose log is read: one payment tells.
 *
 * @throws TargetError that says what to do.
 */
export async function checkTarget({ url, apiKey, providerUrl }: Target): Promise<void> {
  const client = createClient({ baseUrl: url, apiKey, retry: { deadlineMs: 20_000 } })
  const alive = await fetch(`${url}/readyz`).catch(() => undefined)
  if (alive?.ok !== true) {
    throw new TargetError(
      `no API is ready at ${url}. Run "npm start" in another terminal and wait for its "ready ` +
        'http://...", say --url when that is another address, or let --stack start one.',
    )
  }
  const provider = providerAt(providerUrl)
  await provider.checkHealth().catch(() => {
    throw new TargetError(
      `no mock provider answers at ${providerUrl}, and without its log nothing can be checked. ` +
        'npm start prints its address beside "what the provider did": say it as --provider-url. ' +
        'Stripe itself is not simulated on.',
    )
  })
  const answer = await client.POST('/v1/payments', {
    idempotencyKey: crypto.randomUUID(),
    params: { header: { Prefer: 'wait=10' } },
    body: { amount: 100, currency: 'usd', payment_method: 'pm_card_visa' },
  })
  if (answer.response.status === 401) {
    throw new TargetError(
      `the API at ${url} does not know this API key. npm start prints the demo tenant's below ` +
        '"ready": pass it as --api-key or API_KEY.',
    )
  }
  const { id } = { id: undefined, ...answer.data }
  const executed = id === undefined ? [] : await provider.listExecuted()
  if (executed.some(({ metadata }) => metadata['atomic_payment'] === id)) return
  throw new TargetError(
    id === undefined
      ? `the API at ${url} takes no payment: it answers ${answer.response.status}. What npm start prints may say why.`
      : `${url} has made the payment ${id}, of which the provider at ${providerUrl} knows nothing: ` +
          'the API uses another one. Say as --provider-url which.',
  )
}
