// The files of the product as a mutant has them, in a folder of their own: the processes under test read them in
// place of the product's.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { REPOSITORY } from '../service-process.ts'
import type { Patch } from './mutant.ts'

export interface ChangedFiles {
  /** Each file lies where it lies in the repository. */
  readonly folder: string
  remove(): Promise<void>
}

/** A text that is to be replaced does not occur once: the product has changed, and the patch must follow. */
export class PatchError extends Error {
  override name = 'PatchError'
}

/** @throws PatchError when a patch does not apply; nothing is left then. */
export async function makeChangedFiles(patches: readonly Patch[]): Promise<ChangedFiles> {
  const sources = await readPatched(patches)
  const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-mutant-'))
  for (const [file, source] of sources) {
    const path = join(folder, file)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, source)
  }
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

/**
 * The files of the product as a mutant has them, by their paths.
 *
 * @throws PatchError when a patch does not apply.
 */
export async function readPatched(patches: readonly Patch[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  for (const patch of patches) {
    const { file } = patch
    const source = sources.get(file) ?? (await readFile(join(REPOSITORY, file), 'utf8'))
    sources.set(file, applyPatch(source, patch))
  }
  return sources
}

/** @throws PatchError when the text does not occur exactly once. */
export function applyPatch(source: string, { file, text, replacement }: Patch): string {
  const [before = '', after, ...others] = source.split(text)
  if (after === undefined) throw new PatchError(`${file} does not hold: ${text}`)
  if (others.length > 0) throw new PatchError(`${file} holds more than once: ${text}`)
  return before + replacement + after
}
