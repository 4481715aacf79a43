// Keys that survive a crash: a file for each intended payment, written before the service is called. A shop
// keeps the key in the row of its order; what matters is that it is there before the first try.
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newIdempotencyKey } from '../index.ts'

/** The key for that order: a new one the first time, and ever after the same. */
export async function getOrCreateKey(folder: string, orderId: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const keyFile = join(folder, `${encodeURIComponent(orderId)}.key`)
  const temporaryFile = `${keyFile}.${newIdempotencyKey()}`
  await writeFile(temporaryFile, newIdempotencyKey(), { flush: true })
  try {
    // A link fails when the name is taken, and what it names is whole: of two processes, one is first.
    await link(temporaryFile, keyFile)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  } finally {
    await rm(temporaryFile)
  }
  return await readFile(keyFile, 'utf8')
}
