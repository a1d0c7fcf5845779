// The screens that are loaded when the first of them is opened, so that the overview comes with fewer bytes.
export { Bulk, BulkJobs } from "./bulk";
export { Flow } from "./flow";
export { Health } from "./health";
export { Instance } from "./instance";
export { Schedules } from "./schedules";
export { Settings } from "./settings";
export { Workers } from "./workers";
