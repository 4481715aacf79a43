// Stores one idempotency key per order, in a file, so that it survives a crash. A shop keeps the
// key in the order's row instead. In both cases the key is stored before the first call.
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newIdempotencyKey } from '../index.ts'

/** Returns the order's key. The first call creates it; all later calls return the same key. */
export async function getOrCreateKey(folder: string, orderId: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const keyFile = join(folder, `${encodeURIComponent(orderId)}.key`)
  const temporaryFile = `${keyFile}.${newIdempotencyKey()}`
  await writeFile(temporaryFile, newIdempotencyKey(), { flush: true })
  try {
    // link() is atomic: it fails if the file exists, and a file that exists is complete. Of two
    // concurrent processes, exactly one creates the key.
    await link(temporaryFile, keyFile)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  } finally {
    await rm(temporaryFile)
  }
  return await readFile(keyFile, 'utf8')
}
