// An engine as a worker has it, wired by the service itself and under its role, so that what is measured is
// what runs. Its provider is out of reach: nothing that is measured in this process asks it.
import { readConfig, type Config } from '../src/config.ts'
import { createLog } from '../src/log.ts'
import type { Engine } from '../src/engine/engine.ts'
import { wireEngine } from '../src/wiring.ts'

/** A port on which nobody listens. */
const NOBODY = 'http://127.0.0.1:9'

/** The settings are the defaults: what a shell has set does not count. */
export function benchConfig(databaseUrl: string): Config {
  return readConfig({
    DATABASE_URL: databaseUrl,
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: NOBODY,
  })
}

export function benchEngine(databaseUrl: string): Engine {
  return wireEngine(benchConfig(databaseUrl), createLog('bench', 'silent'))
}
