// The statements of src/db, each sent by its function with example arguments. A test holds the rights of the
// service role against them.
import type { Example } from './example.ts'
import { connectionExamples } from './examples-connection.ts'
import { consoleExamples } from './examples-console.ts'
import { idempotencyExamples } from './examples-idempotency-keys.ts'
import { operationExamples } from './examples-operations.ts'
import {
  disputeExamples,
  encryptionExamples,
  eventExamples,
  ledgerExamples,
  paymentExamples,
} from './examples-resources.ts'
import { operatorExamples } from './examples-operators.ts'
import {
  migrationExamples,
  queueExamples,
  reconciliationExamples,
  retentionExamples,
} from './examples-service.ts'
import { tenantExamples, webhookExamples } from './examples-tenants.ts'

/** By folder, then as in the source. */
export const examples: readonly Example[] = [
  ...connectionExamples,
  ...encryptionExamples,
  ...eventExamples,
  ...idempotencyExamples,
  ...ledgerExamples,
  ...migrationExamples,
  ...operationExamples,
  ...operatorExamples,
  ...consoleExamples,
  ...paymentExamples,
  ...disputeExamples,
  ...queueExamples,
  ...reconciliationExamples,
  ...retentionExamples,
  ...tenantExamples,
  ...webhookExamples,
]
