// The providers that a process can call, by name. A payment stays with the provider of its row.
import type { NotExecuted } from '../domain/operations/outcome.ts'
import { notCalled, notLookedUp } from './call-outcomes.ts'
import { UNDECLARED } from './capabilities.ts'
import type { PaymentProvider } from './payment-provider.ts'
import { eachCall } from './calls.ts'

export interface Providers {
  /** In the order in which the process was given them. */
  readonly all: readonly PaymentProvider[]
  /**
   * Never throws. For a name that this process does not have, it returns a provider that calls
   * nothing: calls and reads of a state are `not_executed`, lookups `unknown`, and lists and reads
   * of records throw. So its payments wait for a process that has it.
   */
  readonly named: (name: string) => PaymentProvider
}

export function createProviders(all: readonly PaymentProvider[]): Providers {
  return {
    all,
    named: (name) => all.find((provider) => provider.name === name) ?? missingProvider(name),
  }
}

function missingProvider(name: string): PaymentProvider {
  const reason = `this process has no provider ${name}`
  const notMade = (call: string) => async (): Promise<NotExecuted> => ({
    ...notCalled(call, reason),
    retryLater: true,
  })
  const unread = async () => {
    throw new Error(reason)
  }
  const unlisted = () => {
    throw new Error(reason)
  }
  return {
    name,
    capabilities: UNDECLARED,
    calls: eachCall((call) => ({
      execute: notMade(call),
      find: async () => notLookedUp(call, reason),
    })),
    retrieve: notMade('retrieve'),
    retrieveRefund: notMade('retrieveRefund'),
    retrieveDispute: notMade('retrieveDispute'),
    readAccount: unread,
    listPayments: unlisted,
    listRefunds: unlisted,
    listDisputes: unlisted,
    listMovements: unlisted,
    readPayment: unread,
    readRefund: unread,
    readDispute: unread,
    readEarlyFraudWarning: unread,
  }
}
