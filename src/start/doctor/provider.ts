// Checks the provider of a deployment: the secret key, its account, the time that a call takes, and
// the secret of its webhooks.
import { ConfigError } from '../../config-formats.ts'
import type { Config } from '../../config.ts'
import { failure, ok, warning, type Check } from '../../domain/deployment/database-checks.ts'
import { adapters } from '../../provider/adapters.ts'
import type { PaymentProvider } from '../../provider/payment-provider.ts'
import { wireBareProviders } from '../../wiring.ts'

/** The median of these is shown. */
const CALLS = 3

/** Payments make two calls each, one after the other. */
const SLOW_MS = 2_000

/** Reads the account of each provider's key, and changes nothing. */
export async function checkProviders(config: Config): Promise<Check[]> {
  try {
    const providers = await wireBareProviders(config)
    if (!providers.some(({ name }) => name === config.PROVIDER)) {
      const [key] = adapters.find(({ name }) => name === config.PROVIDER)?.keys ?? []
      return [failure('provider', `${key} is not set`, ADVICE)]
    }
    const checks = await Promise.all(providers.map(checkProvider))
    return checks.flatMap((own, index) =>
      own.map((check) => ({
        ...check,
        name: providers.length > 1 ? `${check.name} (${providers[index]?.name})` : check.name,
      })),
    )
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [failure('provider', error.message, 'Set it for the workers.')]
  }
}

const ADVICE = 'Set the keys of the provider for the workers. A worker for webhooks needs none.'

const API_BASES = adapters.map(({ apiBase }) => apiBase).join(' or ')

async function checkProvider(provider: PaymentProvider): Promise<Check[]> {
  const times: number[] = []
  try {
    let account: string | undefined
    for (let call = 1; call <= CALLS; call += 1) {
      const begunAtMs = performance.now()
      account = await provider.readAccount()
      times.push(performance.now() - begunAtMs)
    }
    return [judgeAccount(account), judgeTime(times.toSorted((a, b) => a - b)[1] ?? 0)]
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [
      failure(
        'provider',
        reason,
        `Check the keys of the provider, ${API_BASES}, DNS_SERVERS and the network of the workers.`,
      ),
    ]
  }
}

function judgeAccount(account: string | undefined): Check {
  const name = 'provider account'
  if (account !== undefined) return ok(name, account)
  return warning(
    name,
    'the key may not read it',
    'Give the restricted key the right to read the account: the service keeps to the first one.',
  )
}

function judgeTime(medianMs: number): Check {
  const name = 'time to the provider'
  const found = `${Math.round(medianMs)} ms`
  if (medianMs < SLOW_MS) return ok(name, found)
  return warning(
    name,
    found,
    'Run the workers nearer to the provider, or raise WORKER_CONCURRENCY.',
  )
}

/** Checks the settings that no other check uses. */
export function checkSecrets(config: Config): Check[] {
  const { STRIPE_WEBHOOK_SECRET, ENCRYPTION_KEYS, ADMIN_API_KEY } = config
  return [
    STRIPE_WEBHOOK_SECRET === undefined
      ? warning(
          'provider webhooks',
          'STRIPE_WEBHOOK_SECRET is not set',
          'Without events, 3-D Secure, disputes and late refunds are noticed only by lookups and the reconciliation.',
        )
      : ok('provider webhooks', 'the secret is set'),
    ENCRYPTION_KEYS === undefined
      ? failure('encryption', 'ENCRYPTION_KEYS is not set', 'Set it: see docs/operations.md.')
      : ok('encryption', 'the keys are set'),
    ADMIN_API_KEY === undefined
      ? warning('operators', 'ADMIN_API_KEY is not set', 'Without it there is no /admin.')
      : ok('operators', 'the keys are set'),
  ]
}
