// The service's default settings, for functions that a benchmark calls in its own process. Its provider is
// unreachable: nothing measured there calls it.
import { randomBytes } from 'node:crypto'
import { readConfig, type Config } from '../src/config.ts'

/** A port on which nothing listens. */
const UNREACHABLE = 'http://127.0.0.1:9'

/** Returns the default settings. Variables of the shell are ignored. */
export function benchConfig(databaseUrl: string): Config {
  return readConfig({
    DATABASE_URL: databaseUrl,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: UNREACHABLE,
    ENCRYPTION_KEYS: `bench:${randomBytes(32).toString('base64')}`,
  })
}
