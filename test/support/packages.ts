// The packages with many modules, as bundles: every test file loads its packages anew.
import { join } from 'node:path'
import { buildOnce, bundleFolder } from './bundles.ts'

/** Only ES modules that no CommonJS package requires. */
const PACKAGES = [
  'drizzle-orm',
  'drizzle-orm/pg-core',
  'drizzle-orm/postgres-js',
  'fast-check',
  'pg-boss',
  'stripe',
  'zod',
  'zod-openapi',
]

const FOLDER = bundleFolder('test-packages', ['test/support/packages.ts'])

/** Where jest finds them. */
export const bundledPackages = { [`^(${PACKAGES.join('|')})$`]: join(FOLDER, '$1.mjs') }

/** One build for all, so that they share the modules that they have in common. */
export async function prepareTestPackages(): Promise<void> {
  await buildOnce(FOLDER, Object.fromEntries(PACKAGES.map((name) => [name, name])))
}
