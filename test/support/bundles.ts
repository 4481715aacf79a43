// Keeps bundles of what tests load again and again. A bundle loads in a quarter to a half of the
// processor time of its many files.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPrograms } from '../../verify/faults/programs.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache')

/** What every bundle is built with. */
const BUILT_WITH = ['package-lock.json', 'verify/faults/programs.ts']

/** A folder that no run used for so long is removed. */
const UNUSED_MS = 24 * 60 * 60 * 1_000

/** The folder of the bundles that are built from these files and folders as they are now. */
export function bundleFolder(name: string, sources: readonly string[]): string {
  return join(CACHE, name, stampOf([...BUILT_WITH, ...sources]))
}

/**
 * Builds the bundles of a folder unless it is there.
 *
 * @param scripts what each bundle is built from, by the bundle's name.
 * @returns whether it built them.
 */
export async function buildOnce(
  folder: string,
  scripts: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date())
    return false
  }
  const parent = dirname(folder)
  await mkdir(parent, { recursive: true })
  await removeUnused(parent)
  const unfinished = await mkdtemp(join(parent, 'unfinished-'))
  await buildPrograms({ root: ROOT, scripts, folder: unfinished })
  // Fails when another run has built the same in the meantime.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }))
  return true
}

/** Differs when a file was added, changed or removed. */
function stampOf(sources: readonly string[]): string {
  const hash = createHash('sha256')
  for (const source of sources) {
    const path = join(ROOT, source)
    const below = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : []
    for (const name of ['', ...below.map(String).toSorted()]) {
      const { mtimeMs, size } = statSync(join(path, name))
      hash.update(`${source}/${name} ${mtimeMs} ${size}\n`)
    }
  }
  return hash.digest('hex').slice(0, 16)
}

async function removeUnused(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = join(parent, name)
    const isOld = statSync(folder).mtimeMs < Date.now() - UNUSED_MS
    if (isOld) await rm(folder, { recursive: true, force: true })
  }
}
