// Loaded before a process of the product, in the product's folder: it has files read in place of those of the
// product, from a folder where each lies as it does there.
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = process.env['CHANGED_FILES'] ?? ''
const root = process.cwd()

registerHooks({
  load(url, context, nextLoad) {
    const file = url.startsWith('file:') && join(folder, relative(root, fileURLToPath(url)))
    if (file === false || !existsSync(file)) return nextLoad(url, context)
    return { format: 'module-typescript', source: readFileSync(file, 'utf8'), shortCircuit: true }
  },
})
