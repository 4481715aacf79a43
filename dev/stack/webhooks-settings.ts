// The settings of the process that delivers webhooks. It calls servers that tenants chose, so it has
// no secret that only the API, payments or operators need.

import { providerVariables } from '../../src/config.ts'

/** Blank counts as unset, also where the environment has a value. */
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
