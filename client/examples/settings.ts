// How the examples are run by hand: where they find the service, in whose name they speak to it, and what
// they say when that is not told, or when a call fails.
import { ApiError, NoAnswerError } from '../errors.ts'
import { createClient, type Client } from '../index.ts'
import type { Order } from './pay-and-wait.ts'

class SettingError extends Error {}

/** Does what the example is for, and says in one line why it could not be done. */
export async function runExample(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const isExpected = [SettingError, ApiError, NoAnswerError].some((kind) => error instanceof kind)
    if (!isExpected) throw error
    process.stderr.write(`${(error as Error).message}\n`)
    process.exitCode = 1
  }
}

/** Reads `API_URL` and `API_KEY`. */
export function clientFromEnvironment(): Client {
  return createClient({
    baseUrl: process.env['API_URL'] ?? 'http://127.0.0.1:3000',
    apiKey: readSetting('API_KEY', 'the secret key of a tenant; npm start prints one'),
    retry: {
      onRetry: ({ after, delayMs }) => {
        const why = after.kind === 'answer' ? `answered ${after.status}` : 'no answer'
        process.stderr.write(`${why}, trying again in ${delayMs} ms\n`)
      },
    },
  })
}

/** Reads `ORDER`, `AMOUNT` and `PAYMENT_METHOD`. */
export function orderFromEnvironment(): Order {
  return {
    id: readSetting('ORDER', 'the id of the order that is paid for; it is paid for once'),
    amount: Number(process.env['AMOUNT'] ?? '1999'),
    paymentMethod: process.env['PAYMENT_METHOD'] ?? 'pm_card_visa',
  }
}

/** Reads `KEYS_FOLDER`, where the keys of the orders are kept. */
export function keysFolder(): string {
  return process.env['KEYS_FOLDER'] ?? '.data/keys-of-orders'
}

/** Reads `WEBHOOK_SECRET`. */
export function webhookSecret(): string {
  return readSetting('WEBHOOK_SECRET', 'the secret that was shown when the endpoint was made')
}

/** Reads `PORT`; 0 picks a free one. */
export function receiverPort(): number {
  return Number(process.env['PORT'] ?? '4000')
}

function readSetting(name: string, meaning: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new SettingError(`set ${name}: ${meaning}`)
  return value
}
