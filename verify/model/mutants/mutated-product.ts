// Loads a mutated product: copies the sources to a temporary folder, applies the patches of a
// mutant there, and removes the folder afterwards.
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readPatched } from '../../faults/mutants/mutants.ts'
import { REPOSITORY } from '../../faults/service-process.ts'
import { loadProduct, type Product } from '../programs/product.ts'
import { dropGuards } from '../store/schema.ts'
import type { ModelMutant } from './mutants.ts'

/** @throws PatchError when a patch does not apply. */
export async function withMutatedProduct<Found>(
  { patches, schema }: Pick<ModelMutant, 'patches' | 'schema'>,
  work: (product: Product) => Promise<Found>,
): Promise<Found> {
  const sources = await readPatched(patches)
  const folder = await mkdtemp(join(tmpdir(), 'atomic-model-'))
  try {
    await Promise.all(
      ['src', 'workers', 'extras', 'package.json'].map((name) =>
        cp(join(REPOSITORY, name), join(folder, name), { recursive: true }),
      ),
    )
    await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'))
    // A patch of the stand-in changes nothing here: the model has its own provider.
    const own = [...sources].filter(([file]) => !file.startsWith('dev/'))
    for (const [file, source] of own) await writeFile(join(folder, file), source)
    const product = await loadProduct(folder, REPOSITORY)
    return await work({ ...product, schema: dropGuards(product.schema, schema) })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
