// Applies the patches of a mutant to files of the product.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REPOSITORY } from '../service-process.ts'
import type { Patch } from './mutant.ts'

/** The text does not occur exactly once: the product has changed, and the patch must follow. */
export class PatchError extends Error {
  override name = 'PatchError'
}

/**
 * The patched files, by their paths.
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
  if (after === undefined) throw new PatchError(`${file} does not contain: ${text}`)
  if (others.length > 0) throw new PatchError(`${file} contains more than once: ${text}`)
  return before + replacement + after
}
