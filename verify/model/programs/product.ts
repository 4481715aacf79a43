// Loads the product's own modules, from this repository or from a mutated copy.
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import type { Encryption } from '../../../src/encryption/encryption.ts'
import { readSchema, type Schema } from '../store/schema.ts'

export interface Product {
  readonly schema: Schema
  readonly batchReservations: typeof import('../../../src/db/idempotency/intents.ts').batchReservations
  readonly batchLookUps: typeof import('../../../src/db/idempotency/intents.ts').batchLookUps
  readonly batchClaims: typeof import('../../../src/db/operations/leases.ts').batchClaims
  readonly batchRecords: typeof import('../../../src/db/operations/record-phases.ts').batchRecords
  readonly operations: typeof import('../../../src/operations/index.ts').operations
  readonly silentObserver: typeof import('../../../src/engine/observer.ts').silentObserver
  readonly sweep: typeof import('../../../src/recovery/sweeper.ts').sweep
  readonly reap: typeof import('../../../src/recovery/reaper.ts').reap
  readonly resolveDue: typeof import('../../../src/recovery/outcome-resolver.ts').resolveDue
  readonly applyProviderEvent: typeof import('../../../src/operations/apply-provider-event.ts').applyProviderEvent
  readonly keyEndpoints: typeof import('../../../src/http/resources/idempotency-keys.ts').keyEndpoints
  readonly cancelOperation: typeof import('../../../src/engine/reopen-or-cancel.ts').cancelOperation
  readonly workOnOperation: typeof import('../../../workers/operation-worker.ts').workOnOperation
  readonly createPaymentEndpoint: typeof import('../../../src/operations/create-payment/endpoint.ts').createPaymentEndpoint
  readonly createRefundEndpoint: typeof import('../../../src/operations/create-refund/endpoint.ts').createRefundEndpoint
  readonly noAnswers: typeof import('../../../src/answers/answers.ts').noAnswers
  readonly problemAnswer: typeof import('../../../src/http/responses/answer.ts').problemAnswer
  readonly showPaymentId: typeof import('../../../src/domain/payments/payment.ts').showPaymentId
  readonly useEncryption: typeof import('../../../src/encryption/encryption.ts').useEncryption
  readonly operationMoves: typeof import('../../../src/domain/operations/operation.ts').operationMoves
  readonly postingsOfCapture: typeof import('../../../src/domain/ledger/ledger.ts').postingsOfCapture
  readonly postingsOfRefund: typeof import('../../../src/domain/ledger/ledger.ts').postingsOfRefund
}

const SCHEMA_MODULES = ['tenants', 'payments', 'idempotency-keys', 'events', 'reconciliation'].map(
  (name) => `src/db/schema/${name}.ts`,
)

const PROGRAM_MODULES = [
  'src/answers/answers.ts',
  'src/encryption/encryption.ts',
  'src/db/idempotency/intents.ts',
  'src/db/operations/leases.ts',
  'src/db/operations/record-phases.ts',
  'src/engine/reopen-or-cancel.ts',
  'src/engine/observer.ts',
  'src/operations/apply-provider-event.ts',
  'src/operations/index.ts',
  'src/recovery/sweeper.ts',
  'src/recovery/reaper.ts',
  'src/recovery/outcome-resolver.ts',
  'workers/operation-worker.ts',
  'src/operations/create-payment/endpoint.ts',
  'src/operations/create-refund/endpoint.ts',
  'src/http/resources/idempotency-keys.ts',
  'src/http/responses/answer.ts',
]

/**
 * The rules that the invariants are checked by. For a mutated copy they are loaded from the
 * original.
 */
const RULE_MODULES = [
  'src/domain/payments/payment.ts',
  'src/domain/operations/operation.ts',
  'src/domain/ledger/ledger.ts',
]

/** Leaves values plain, so that the same run gives the same rows. */
export const noEncryption: Encryption = {
  prefix: '',
  encrypt: (_place, text) => text,
  decrypt: (_place, stored) => stored,
}

/**
 * @param root the folder that contains the sources.
 * @param rules the folder that contains the modules of the rules.
 */
export async function loadProduct(root: string, rules = root): Promise<Product> {
  const load = async (folder: string, file: string) =>
    (await import(pathToFileURL(join(folder, file)).href)) as Readonly<Record<string, unknown>>
  const schemaModules = await Promise.all(SCHEMA_MODULES.map((file) => load(root, file)))
  const programModules = await Promise.all(PROGRAM_MODULES.map((file) => load(root, file)))
  const ruleModules = await Promise.all(RULE_MODULES.map((file) => load(rules, file)))
  const schema = readSchema(schemaModules)
  const product = Object.assign({}, ...programModules, ...ruleModules, { schema }) as Product
  product.useEncryption(noEncryption)
  return product
}
