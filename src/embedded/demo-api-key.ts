// The API key of the demo tenant: the one in the settings, or one made at the first start and kept.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'

/** The demo tenant's key; a made one is the same at every start with the same DATA_DIR. */
export async function readDemoApiKey(
  config: Pick<Config, 'DATA_DIR' | 'DEMO_API_KEY'>,
): Promise<string> {
  if (config.DEMO_API_KEY !== undefined) return config.DEMO_API_KEY
  const file = join(config.DATA_DIR, 'demo-api-key')
  if (!existsSync(file)) {
    // The rename keeps a kill in between from leaving half a key.
    const unfinished = `${file}.unfinished`
    await writeFile(unfinished, `sk_demo_${randomBytes(20).toString('hex')}`, { mode: 0o600 })
    await rename(unfinished, file)
  }
  return readFile(file, 'utf8')
}
