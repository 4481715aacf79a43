// The settings of the stack's processes that follow from its addresses and ports, and those of the
// process that delivers webhooks.
import { isIPv6 } from 'node:net'
import { providerVariables } from '../../src/config.ts'

export type Settings = Record<string, string>

export const LOOPBACK = '127.0.0.1'
const STAND_IN_API_KEY = 'sk_test_mock'

/** Points the services at the stand-in. Without one they use STRIPE_API_BASE of the environment. */
export function providerSettings(standInUrl: string | undefined, webhooks: Settings): Settings {
  return standInUrl === undefined
    ? {}
    : { ...webhooks, STRIPE_SECRET_KEY: STAND_IN_API_KEY, STRIPE_API_BASE: standInUrl }
}

/** Returns the port that is so many later. 0 and unset stay as they are. */
export function portAfter(port: number | undefined, later: number): string {
  if (port === undefined) return ''
  return String(port === 0 ? 0 : port + later)
}

/** Returns the address at which a client reaches a server that listens on `host`. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return LOOPBACK
  return isIPv6(host) ? `[${host}]` : host
}

/**
 * The process calls servers that tenants chose, so it has no secret that only the API, payments or
 * operators need. Blank counts as unset, also where the environment has a value.
 */
export const WEBHOOKS_SETTINGS = {
  WORKER_QUEUES: 'webhooks',
  PROVIDER: '',
  ...Object.fromEntries(providerVariables.map((name) => [name, ''])),
  DEMO_API_KEY: '',
  ADMIN_API_KEY: '',
  // They would need the operators of ADMIN_API_KEY.
  ADMIN_DUAL_CONTROL: '',
  CONSOLE: '',
}
