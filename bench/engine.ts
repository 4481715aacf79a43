// Creates the engine of a worker with the service's own wiring and database role, so that the
// benchmark measures production code. Its provider is unreachable: nothing measured in this process
// calls it.
import { randomBytes } from 'node:crypto'
import { readConfig, type Config } from '../src/config.ts'
import { createLog } from '../src/log.ts'
import type { Engine } from '../src/engine/engine.ts'
import { wireEngine, wireWorkerBase } from '../src/wiring.ts'

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

export async function benchEngine(databaseUrl: string): Promise<Engine> {
  const config = benchConfig(databaseUrl)
  return await wireEngine(config, wireWorkerBase(config, createLog('bench', 'silent')))
}
