// Finds the stack and the API key: from the command line, else from the environment, else from the
// settings of `npm start`. Error messages say where to find what is missing.
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { createClient } from '../../client/index.ts'
import type { Config } from '../../src/config.ts'
import { UsageError } from '../../bench/options.ts'
import { readUrl, type SimulationOptions } from './arguments.ts'
import { providerAt } from './faults.ts'

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

/** There is no usable stack. */
export class TargetError extends Error {
  override name = 'TargetError'
}

/** @throws UsageError if there is no API key. */
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

/** Reads the API key of the demo tenant, as dev/stack/generated-secrets.ts does. */
async function readDemoKey({ DEMO_API_KEY, DATA_DIR }: Settings): Promise<string> {
  if (DEMO_API_KEY !== undefined) return DEMO_API_KEY
  const file = join(DATA_DIR, 'demo-api-key')
  try {
    return await readFile(file, 'utf8')
  } catch {
    throw new UsageError(
      `no API key: ${file} does not exist. npm start stores the demo tenant's API key there. Run ` +
        'npm start in this folder first, or pass the key that it prints below "ready" as ' +
        '--api-key or API_KEY. Or start a stack for this run only with --stack.',
    )
  }
}

/** The address of a server that listens on `host`, which may stand for all interfaces. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return LOOPBACK
  return isIPv6(host) ? `[${host}]` : host
}

/**
 * Checks with one payment that the API accepts payments and calls the provider whose log is read.
 *
 * @throws TargetError with instructions.
 */
export async function checkTarget({ url, apiKey, providerUrl }: Target): Promise<void> {
  const client = createClient({ baseUrl: url, apiKey, retry: { deadlineMs: 20_000 } })
  const alive = await fetch(`${url}/readyz`).catch(() => undefined)
  if (alive?.ok !== true) {
    throw new TargetError(
      `no API is ready at ${url}. Run "npm start" in another terminal and wait for "ready ` +
        'http://...". If that is another address, pass it as --url. Or start a stack with --stack.',
    )
  }
  const provider = providerAt(providerUrl)
  await provider.checkHealth().catch(() => {
    throw new TargetError(
      `no Stripe stand-in answers at ${providerUrl}. Its log is needed for the checks. npm start ` +
        'prints its address beside "what the provider did": pass it as --provider-url. The ' +
        'simulation does not run against Stripe itself.',
    )
  })
  const answer = await client.POST('/v1/payments', {
    idempotencyKey: crypto.randomUUID(),
    params: { header: { Prefer: 'wait=10' } },
    body: { amount: 100, currency: 'usd', payment_method: 'pm_card_visa' },
  })
  if (answer.response.status === 401) {
    throw new TargetError(
      `the API at ${url} does not know this API key. npm start prints the demo tenant's API key ` +
        'below "ready": pass it as --api-key or API_KEY.',
    )
  }
  const { id } = { id: undefined, ...answer.data }
  const executed = id === undefined ? [] : await provider.listExecuted()
  if (executed.some(({ metadata }) => metadata['atomic_payment'] === id)) return
  throw new TargetError(
    id === undefined
      ? `the API at ${url} answered a payment with ${answer.response.status}. The output of npm ` +
          'start may say why.'
      : `the API at ${url} created the payment ${id}, but the provider at ${providerUrl} does ` +
          'not know it: the API uses another provider. Pass its URL as --provider-url.',
  )
}
