// Loaded by `npm start` and its parts before their own code: each part runs as its bundle, which takes
// half the processor time of its many files.
import { registerHooks } from 'node:module'

/** The URL of each bundle by the URL of its script. */
const bundles = JSON.parse(process.env['TEST_BUNDLES'] ?? '{}') as Record<string, string>

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    const bundle = context.parentURL === undefined ? bundles[resolved.url] : undefined
    return bundle === undefined ? resolved : next(bundle, context)
  },
})
