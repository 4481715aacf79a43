// The contract of the overview of operators.
import type { Contracts } from '../contracts/contract.ts'
import { overviewSchema } from './schema.ts'

export const overviewContracts: Contracts = {
  'GET /admin/overview': {
    operationId: 'getOverview',
    tag: 'Operators',
    summary: 'Read the overview',
    description:
      'Returns what the service does now: the figures of the alerts, rates, takeovers, and the processes that run. All viewers of an API process share one reading, which is at most a second old.',
    refusesQuery: true,
    answers: { 200: { description: 'The overview.', schema: overviewSchema } },
  },
}
