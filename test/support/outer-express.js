// Express as the jest worker loaded it once. Loaded again by each test file, it took a tenth of the
// file's processor time.
const { express } = globalThis.jestWorker

export default express
export const { Router, json } = express
