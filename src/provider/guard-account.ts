// Keeps the service from using the secret key of another account than before. That account has none
// of our payments: a new payment would be charged there, and a lookup would find nothing, which
// would count as proof that a call did not happen: docs/decisions/0033-one-provider-account.md.
import type { NotExecuted } from '../domain/operations/outcome.ts'
import { notCalled, notLookedUp } from './call-outcomes.ts'
import { mapCalls, type ProviderCall } from './calls.ts'
import type { PaymentProvider } from './payment-provider.ts'

export interface AccountGuardOptions {
  /** Records the account as the first one, unless one is recorded. Returns the recorded one. */
  readonly recordFirst: (account: string) => Promise<string>
  /** Called once when the account is another one. */
  readonly refused: (error: WrongAccountError) => void
  /** Called once when no answer names the account of the secret key. Then it is used unchecked. */
  readonly unchecked: () => void
}

/**
 * Reads the account of the provider once, before the first call. Until then, and if it is not the
 * recorded account, no call is made: calls are `not_executed`, lookups `unknown`, and reads throw.
 * `readAccount` of the guarded provider only checks: it throws in these cases.
 */
export function guardAccount(
  provider: PaymentProvider,
  options: AccountGuardOptions,
): PaymentProvider {
  const check = checkOnce(provider, options)

  /** Why no call may be made; undefined when it may. */
  const objection = async (): Promise<string | undefined> =>
    await check().then(
      () => undefined,
      (error: unknown) => `the account is not checked: ${reasonOf(error)}`,
    )

  const unlessWrong = async <Answer>(
    name: string,
    make: () => Promise<Answer>,
  ): Promise<Answer | NotExecuted> => {
    const reason = await objection()
    if (reason === undefined) return await make()
    return notCalled(name, reason)
  }

  const guardCall = <Request, Value>(
    name: string,
    call: ProviderCall<Request, Value>,
  ): ProviderCall<Request, Value> => ({
    execute: (request, identity) => unlessWrong(name, () => call.execute(request, identity)),
    find: async (request, criteria) => {
      const reason = await objection()
      if (reason === undefined) return await call.find(request, criteria)
      return notLookedUp(name, reason)
    },
  })

  async function* afterCheck<Page>(list: () => AsyncIterable<Page>): AsyncIterable<Page> {
    await check()
    yield* list()
  }

  const afterChecking =
    <Found>(read: (id: string) => Promise<Found>) =>
    async (id: string): Promise<Found> => {
      await check()
      return await read(id)
    }

  return {
    name: provider.name,
    capabilities: provider.capabilities,
    calls: mapCalls(provider.calls, guardCall),
    readAccount: check,
    retrieve: (payment) => unlessWrong('retrieve', () => provider.retrieve(payment)),
    retrieveRefund: (refund) =>
      unlessWrong('retrieveRefund', () => provider.retrieveRefund(refund)),
    retrieveDispute: (dispute) =>
      unlessWrong('retrieveDispute', () => provider.retrieveDispute(dispute)),
    listPayments: (...asked) => afterCheck(() => provider.listPayments(...asked)),
    listRefunds: (...asked) => afterCheck(() => provider.listRefunds(...asked)),
    listDisputes: (...asked) => afterCheck(() => provider.listDisputes(...asked)),
    listMovements: (...asked) => afterCheck(() => provider.listMovements(...asked)),
    readPayment: afterChecking((id) => provider.readPayment(id)),
    readRefund: afterChecking((id) => provider.readRefund(id)),
    readDispute: afterChecking((id) => provider.readDispute(id)),
    readEarlyFraudWarning: afterChecking((id) => provider.readEarlyFraudWarning(id)),
  }
}

/** Returns the check, which succeeds or finds a wrong account only once. */
function checkOnce(
  provider: PaymentProvider,
  { recordFirst, refused, unchecked }: AccountGuardOptions,
): PaymentProvider['readAccount'] {
  let known: Promise<string | undefined> | undefined
  const read = async (): Promise<string | undefined> => {
    const account = await provider.readAccount()
    if (account === undefined) {
      unchecked()
      return undefined
    }
    const first = await recordFirst(account)
    if (first === account) return account
    const error = new WrongAccountError(account, first)
    refused(error)
    throw error
  }
  return async () => {
    const checking = (known ??= read())
    try {
      return await checking
    } catch (error) {
      // A wrong account stays wrong until the process gets another key.
      if (!(error instanceof WrongAccountError) && known === checking) known = undefined
      throw error
    }
  }
}

/** The secret key belongs to another account, or another mode of it, than the database. */
export class WrongAccountError extends Error {
  override name = 'WrongAccountError'

  constructor(account: string, first: string) {
    super(`the secret key belongs to ${account}, and the payments of this database to ${first}`)
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
