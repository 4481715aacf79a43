// A copy of the product, with a mutant's patches applied, in a folder for temporary files. What it starts finds
// its packages by a link, and its migrations beside it.
import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Patch } from './mutant.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Whatever the processes of the product read, but the packages. */
const COPIED = ['src', 'workers', 'drizzle', 'package.json']

export interface Tree {
  readonly root: string
  remove(): Promise<void>
}

/** A text that is to be replaced does not occur once: the product has changed, and the patch must follow. */
export class PatchError extends Error {
  override name = 'PatchError'
}

/** @throws PatchError when a patch does not apply; nothing is left then. */
export async function makeTree(patches: readonly Patch[]): Promise<Tree> {
  const root = await mkdtemp(join(await realpath(tmpdir()), 'atomic-payments-mutant-'))
  const remove = () => rm(root, { recursive: true, force: true })
  try {
    await Promise.all(
      COPIED.map((name) => cp(join(ROOT, name), join(root, name), { recursive: true })),
    )
    await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
    for (const patch of patches) await patchFile(join(root, patch.file), patch)
  } catch (error) {
    await remove()
    throw error
  }
  return { root, remove }
}

async function patchFile(path: string, patch: Patch): Promise<void> {
  await writeFile(path, applyPatch(await readFile(path, 'utf8'), patch))
}

/** @throws PatchError when the text does not occur exactly once. */
export function applyPatch(source: string, { file, text, replacement }: Patch): string {
  const [before = '', after, ...others] = source.split(text)
  if (after === undefined) throw new PatchError(`${file} does not hold: ${text}`)
  if (others.length > 0) throw new PatchError(`${file} holds more than once: ${text}`)
  return before + replacement + after
}

/** The files of the product as a mutant has them, by their paths. */
export async function readPatched(patches: readonly Patch[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>()
  for (const patch of patches) {
    const source = sources.get(patch.file) ?? (await readFile(join(ROOT, patch.file), 'utf8'))
    sources.set(patch.file, applyPatch(source, patch))
  }
  return sources
}
