// GET /v1/ledger/transactions/:id
import { findLedgerTransaction } from '../db/ledger/ledger-transactions.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import {
  parseLedgerTransactionId,
  presentLedgerTransaction,
} from '../domain/ledger/ledger-transaction.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'

export const getLedgerTransaction: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseLedgerTransactionId(String(request.params['id']))
  const transaction =
    id === undefined ? undefined : await findLedgerTransaction(store.sql, tenantId, id)
  if (transaction === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentLedgerTransaction(transaction))
}
