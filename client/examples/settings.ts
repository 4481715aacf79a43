// Reads the settings of the examples from environment variables, and prints expected errors in one
// line.
import { ApiError, NoAnswerError } from '../errors.ts'
import { createClient, type Client } from '../index.ts'

class SettingError extends Error {}

/** Runs an example. Prints an expected error as one line and exits with code 1. */
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
    apiKey: readSetting('API_KEY', 'the API key of a tenant; npm start prints one'),
    retry: {
      onRetry: ({ after, delayMs }) => {
        const why = after.kind === 'answer' ? `answered ${after.status}` : 'no answer'
        process.stderr.write(`${why}, retrying in ${delayMs} ms\n`)
      },
    },
  })
}

/** An order to charge. */
export interface Order {
  readonly id: string
  /** In cents. */
  readonly amount: number
  readonly paymentMethod: string
}

/** Reads `ORDER`, `AMOUNT` and `PAYMENT_METHOD`. */
export function orderFromEnvironment(): Order {
  return {
    id: readSetting('ORDER', 'the id of the order to charge; it is charged once'),
    amount: Number(process.env['AMOUNT'] ?? '1999'),
    paymentMethod: process.env['PAYMENT_METHOD'] ?? 'pm_card_visa',
  }
}

/** Reads `KEYS_FOLDER`, the folder that stores the idempotency keys of the orders. */
export function keysFolder(): string {
  return process.env['KEYS_FOLDER'] ?? '.data/keys-of-orders'
}

/** Reads `WEBHOOK_SECRET`. */
export function webhookSecret(): string {
  return readSetting('WEBHOOK_SECRET', 'the secret that was returned when the endpoint was created')
}

/** Reads `PORT`. 0 selects a free port. */
export function receiverPort(): number {
  return Number(process.env['PORT'] ?? '4000')
}

function readSetting(name: string, meaning: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new SettingError(`set ${name}: ${meaning}`)
  return value
}
