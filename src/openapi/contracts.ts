// Collects the contract of every route: what openapi.yaml says about it, and what tests check
// answers against.
import { adminContracts } from '../http/admin/contract.ts'
import type { Contract, Contracts } from '../http/contracts/contract.ts'
import { consoleContracts } from '../http/console/contract.ts'
import { disputeContracts } from '../http/disputes/contract.ts'
import { eventContracts } from '../http/events/contract.ts'
import { keyContracts } from '../http/idempotency-keys/contract.ts'
import { ledgerContracts } from '../http/ledger/contract.ts'
import { overviewContracts } from '../http/overview/contract.ts'
import { operatorPaymentContracts } from '../http/payments/operators/contract.ts'
import { paymentContracts } from '../http/payments/contract.ts'
import { providerContracts } from '../http/providers/contract.ts'
import { refundContracts } from '../http/refunds/contract.ts'
import { serviceContracts } from '../http/service/contract.ts'
import { tenantContracts } from '../http/tenants/contract.ts'
import { operatorWebhookContracts } from '../http/webhooks/operators/contract.ts'
import { webhookContracts } from '../http/webhooks/contract.ts'
import { operationEndpoints } from '../operations/index.ts'

const operationContracts: Contracts = Object.fromEntries(
  operationEndpoints.map(({ path, contract }) => [`POST ${path}`, contract]),
)

/** By method and path, written as in the table of routes, in the order of the document. */
export const contracts: Contracts = {
  ...operationContracts,
  ...paymentContracts,
  ...refundContracts,
  ...disputeContracts,
  ...ledgerContracts,
  ...eventContracts,
  ...webhookContracts,
  ...keyContracts,
  ...tenantContracts,
  ...overviewContracts,
  ...adminContracts,
  ...providerContracts,
  ...consoleContracts,
  ...operatorPaymentContracts,
  ...operatorWebhookContracts,
  ...serviceContracts,
}

/** @throws Error for a route that has no contract. */
export function contractOf(method: string, path: string): Contract {
  const contract = contracts[`${method} ${path}`]
  if (contract === undefined) throw new Error(`${method} ${path} has no contract`)
  return contract
}
