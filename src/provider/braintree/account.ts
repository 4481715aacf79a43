// Reads which account of Braintree the keys belong to.
import { isJson } from '../json.ts'
import { within, type Connection } from './connection.ts'
import { typeOf } from './errors.ts'

/**
 * The id of the merchant, with the environment: production and sandbox are apart. Braintree refuses
 * keys of another merchant, so any answer to a read proves that the keys are this merchant's. Undefined
 * if the keys may not read.
 *
 * @throws the errors of the connection, or an Error when the answer is about another account.
 */
export async function readAccount(
  connection: Connection,
  { merchantId, environment }: { readonly merchantId: string; readonly environment: string },
): Promise<string | undefined> {
  const [id] = connection.merchantAccounts.values()
  if (id === undefined) throw new Error('the merchant has no account')
  try {
    const found = await within(connection, {}, () => connection.gateway.merchantAccount.find(id))
    if (!isJson(found) || found['id'] !== id) throw new Error(`the answer is not about ${id}`)
    return `${merchantId} ${environment}`
  } catch (error) {
    if (typeOf(error) === 'authorizationError') return undefined
    throw error
  }
}
