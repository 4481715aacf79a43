// The settings of the process that delivers webhooks. It calls servers that tenants chose, so it has
// no secret that only the API, payments or operators need.

/** Blank counts as unset, also where the environment has a value. */
export const WEBHOOKS_SETTINGS = {
  WORKER_QUEUES: 'webhooks',
  STRIPE_SECRET_KEY: '',
  STRIPE_API_BASE: '',
  STRIPE_WEBHOOK_SECRET: '',
  PROVIDER: '',
  BRAINTREE_MERCHANT_ID: '',
  BRAINTREE_PUBLIC_KEY: '',
  BRAINTREE_PRIVATE_KEY: '',
  BRAINTREE_MERCHANT_ACCOUNTS: '',
  BRAINTREE_API_BASE: '',
  DEMO_API_KEY: '',
  ADMIN_API_KEY: '',
  // They would need the operators of ADMIN_API_KEY.
  ADMIN_DUAL_CONTROL: '',
  CONSOLE: '',
}
