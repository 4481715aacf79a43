// The contract of every route: what openapi.yaml says of it, and what its answers are held to in tests.
import { adminContracts } from './admin.ts'
import type { Contract, Contracts } from './contract.ts'
import { eventContracts, ledgerContracts, webhookContracts } from './events.ts'
import { paymentContracts, refundContracts } from './payments.ts'
import { keyContracts, serviceContracts } from './service.ts'
import { tenantContracts } from './tenants.ts'

/** By method and path, as the table of routes has them, in the order of the document. */
export const contracts: Contracts = {
  ...paymentContracts,
  ...refundContracts,
  ...ledgerContracts,
  ...eventContracts,
  ...webhookContracts,
  ...keyContracts,
  ...tenantContracts,
  ...adminContracts,
  ...serviceContracts,
}

/** @throws Error for a route that nobody has described. */
export function contractOf(method: string, path: string): Contract {
  const contract = contracts[`${method} ${path}`]
  if (contract === undefined) throw new Error(`${method} ${path} has no contract`)
  return contract
}
