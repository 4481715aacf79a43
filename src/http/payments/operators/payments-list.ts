// GET /admin/payments: lists the payments of all tenants for operators.
import {
  listPaymentsOfTenants,
  type PaymentOverview,
} from '../../../db/operators/lists/payment-overviews.ts'
import {
  AMOUNT_MAX_MINOR,
  parsePaymentId,
  showPaymentId,
  presentPaymentWithoutSecret,
} from '../../../domain/payments/payment.ts'
import { paymentStatuses } from '../../../domain/payments/payment-status.ts'
import { showTenantId } from '../../../domain/tenants/tenant.ts'
import { showOperationId } from '../../admin/operations-show.ts'
import { withinStoreTimeout, type AdminEndpoint } from '../../endpoint.ts'
import {
  currencyFilter,
  keyFilter,
  oneOfFilter,
  providerIdFilter,
  tenantFilter,
} from '../../requests/list-filters.ts'
import { parseFilteredQuery, type Filter } from '../../requests/list-query.ts'
import { showJson } from '../../responses/answer.ts'
import { presentPage } from '../../responses/page-answer.ts'
import { providerNames } from '../../../provider/declared.ts'

const amountFilter: Filter<number> = {
  expected: `one integer from 1 to ${AMOUNT_MAX_MINOR}`,
  parse: (text) => (/^[1-9]\d{0,7}$/.test(text) ? Number(text) : undefined),
}

const knownFilters = {
  tenant: tenantFilter,
  status: oneOfFilter(`one of ${paymentStatuses.join(', ')}`, paymentStatuses),
  stuck: oneOfFilter('true', ['true'] as const),
  currency: currencyFilter,
  amount: amountFilter,
  key: keyFilter,
  provider_id: providerIdFilter,
}

export const listPaymentsEndpoint: AdminEndpoint = async (parts, request) => {
  const { page, filters } = parseFilteredQuery(request.query, parsePaymentId, knownFilters)
  const { stuck, amount, provider_id: id, ...same } = filters
  const filter = {
    ...same,
    stuck: stuck === 'true',
    amountMinor: amount,
    providerObject: id === undefined ? undefined : { providers: providerNames, id },
  }
  const lookup = listPaymentsOfTenants(parts.store.sql, filter, page)
  const found = await withinStoreTimeout(parts, lookup)
  const searchedTo = found?.searchedTo ?? null
  return showJson({
    ...presentPage(found, presentOverview),
    searched_to: searchedTo && showPaymentId(searchedTo),
  })
}

/** Renders a payment as its tenant sees it, with tenant and operation, and without the client secret. */
export function presentOverview({ payment, operation }: PaymentOverview): Record<string, unknown> {
  return {
    ...presentPaymentWithoutSecret(payment),
    tenant: showTenantId(payment.tenantId),
    operation: operation && {
      id: showOperationId(operation.id),
      operation: operation.operation,
      status: operation.status,
      recovery_point: operation.recoveryPoint,
    },
  }
}
