// GET /v1/ledger/balances
import { readLedgerBalances } from '../db/ledger/ledger-transactions.ts'
import { presentLedgerBalance } from '../domain/ledger/ledger-transaction.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { refuseQuery } from './list-query.ts'

export const listLedgerBalances: TenantEndpoint = async ({ store }, request, tenantId) => {
  refuseQuery(request.query)
  const balances = await readLedgerBalances(store.sql, tenantId)
  return showJson({ object: 'list', data: balances.map(presentLedgerBalance), has_more: false })
}
