// Reads package-lock.json: the packages that `npm ci` installs.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      hasInstallScript: z.boolean().optional(),
      license: z.string().optional(),
      /** Whether only development packages need it. */
      dev: z.boolean().default(false),
    }),
  ),
})

export interface LockedPackage extends z.infer<typeof lockSchema.shape.packages.valueType> {
  /** Its path below the root. */
  readonly path: string
  readonly name: string
}

const FOLDER = 'node_modules/'

export async function readLockfile(): Promise<readonly LockedPackage[]> {
  const { packages } = lockSchema.parse(
    JSON.parse(await readFile(`${ROOT}/package-lock.json`, 'utf8')),
  )
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, locked]) => ({ ...locked, path, name: path.split(FOLDER).at(-1) ?? path }))
}
